"""Maps: recalibrators as modules."""
