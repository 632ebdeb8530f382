"""Writers: rewrite files with additional columns."""
