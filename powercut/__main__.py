"""`python -m powercut` is `powercut`."""

from powercut.cli.main import main

if __name__ == "__main__":
    raise SystemExit(main())
