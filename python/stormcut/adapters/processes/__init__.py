"""Waiting for other processes: progress, their time, their last words."""
