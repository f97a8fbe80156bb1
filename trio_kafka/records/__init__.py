"""Record batches: their headers, records, codecs and checks, sans-IO."""
