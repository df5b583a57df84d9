"""Device drivers: bytes in, readings out. Drivers know no controller."""
