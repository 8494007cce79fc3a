"""What operations cost, and whether it is what a paper says."""
