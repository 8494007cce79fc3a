"""Real file systems on a disk that records what it is asked to do, and the images that a power cut may leave of it.

The kernel mounts each image and replays its journal. All of this needs root, FUSE and loop devices (`systems`), and
runs under a guardian that leaves nothing behind.
"""
