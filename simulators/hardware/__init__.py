"""The device's side of each protocol, without IO."""
