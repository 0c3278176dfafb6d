"""The outside world: files, ZooKeeper, Thrift, Nimbus, Spark, the local cluster."""
