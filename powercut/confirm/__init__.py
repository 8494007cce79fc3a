"""`powercut confirm`: a finding of a folder, looked for on a real file system of the running kernel.

The recorded command runs again on a disk that records (`powercut.real_fs`). Images of this disk are mounted. The
finding's commands run on the folder that the kernel then shows, in the place of the user's own.
"""
