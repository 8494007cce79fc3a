"""`python -m tools.bench` is `make bench`."""

from tools.bench.main import main

if __name__ == "__main__":
    raise SystemExit(main())
