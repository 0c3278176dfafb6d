"""What every benchmark topology is built from: options, replaying spouts, counting bolts."""
