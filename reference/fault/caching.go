package fault

// caching are the faults of server/utilities/caching.
func caching() []Fault { return nil }
