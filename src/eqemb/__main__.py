"""The command line, as `eqemb` and as `python -m eqemb`."""

import os
import sys

# `python -m` puts the current folder first, and a folder of downloaded papers may contain a
# numpy.py. It stays only if eqemb itself was imported from it, as in a checkout.
if (
    __name__ == "__main__"
    and not sys.flags.safe_path
    and __file__ != f"{sys.path[0]}{os.sep}eqemb{os.sep}__main__.py"
):
    del sys.path[0]


def main() -> None:
    """Run the command line; during imports, Ctrl-C ends the process without a traceback."""
    import signal  # not at the top: it would be searched in the current folder

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
