"""Golden vectors: cases, files, manifest, verification."""
