//! Starts real servers for tests, each in a temporary folder and on a free port, and stops them again.
