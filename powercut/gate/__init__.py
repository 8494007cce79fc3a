"""Whether a build passes: baseline, suppressions, and the canary that shows that findings would be seen."""
