"""Writers: files written again with more columns, whole or not at all."""
