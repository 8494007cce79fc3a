"""Run records and finding records (checker/RUN.md): one schema for who writes them, for the disk, and for reports.

A field that is absent has its empty value. One that this version does not know is kept, and written again. What was
read or set is written, and nothing else (`Record.as_json`), so that absent fields stay absent.
"""
