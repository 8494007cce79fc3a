"""Programs that keep their data in files below a folder: how they are recorded, and what their calls did."""
