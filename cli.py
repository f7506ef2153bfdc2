#!/usr/bin/env python3
"""Launcher for a checkout: `python cli.py quantize --fmt mxfp8 ...` is `softfloat-ref quantize ...`."""

from softfloat_ref.app.main import main

if __name__ == "__main__":
    main()
