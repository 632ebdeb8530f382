"""Writers: files with more columns than they were read with."""
