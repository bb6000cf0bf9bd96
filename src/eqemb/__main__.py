"""`eqemb`, and `python -m eqemb`: the command line."""

import signal


def main() -> None:
    """Start; until all is imported Ctrl-C ends it in silence, and not amid a traceback."""
    heard = signal.getsignal(signal.SIGINT)
    if heard is signal.default_int_handler:  # it may be ignored, as under nohup
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from eqemb import cli

    if heard is signal.default_int_handler:
        signal.signal(signal.SIGINT, heard)
        signal.signal(signal.SIGTERM, heard)  # what is kept is kept then, too
    cli.main()


if __name__ == "__main__":
    main()
