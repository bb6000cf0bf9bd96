"""The command line, as `eqemb` and as `python -m eqemb`."""

import signal


def main() -> None:
    """Run the command line; during imports, Ctrl-C ends the process without a traceback."""
    handler = signal.getsignal(signal.SIGINT)
    if handler is signal.default_int_handler:  # it may be ignored, as under nohup
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from eqemb import cli

    if handler is signal.default_int_handler:
        signal.signal(signal.SIGINT, handler)
        signal.signal(signal.SIGTERM, handler)  # finished work is kept on termination, too
    cli.main()


if __name__ == "__main__":
    main()
