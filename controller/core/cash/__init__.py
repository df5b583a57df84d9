"""The money of a table beside its hands: slips, boxes, meters, orphans, and what is put right afterwards."""
