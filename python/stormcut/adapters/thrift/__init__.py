"""The brain's protocol: Thrift values, bounded decoding, seals, server and client."""
