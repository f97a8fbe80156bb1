"""Record batches: headers, records, codecs and checks, sans-IO."""
