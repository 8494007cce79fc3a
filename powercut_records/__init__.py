"""Run records and finding records (checker/RUN.md): one schema for who writes them, for the disk, and for reports.

An absent field has its empty value. A field that this version does not know is kept, and written again. Only fields
that were read or set are written (`Record.as_json`), so that absent fields stay absent.
"""
