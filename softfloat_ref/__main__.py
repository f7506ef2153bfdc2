"""`python -m softfloat_ref` is `softfloat-ref`."""

from softfloat_ref.app.main import main

if __name__ == "__main__":
    main()
