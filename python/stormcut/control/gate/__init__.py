"""Whether a change may be made now: the one gate that every change passes."""
