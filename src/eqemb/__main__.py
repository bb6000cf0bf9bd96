"""`python -m eqemb`: the command line."""

from eqemb.cli import main

if __name__ == "__main__":
    main()
