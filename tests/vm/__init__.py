"""A whole machine: Debian's kernel, systemd and udev in software emulation, with feltd installed by the book."""
