// Package memo keeps what pure functions returned.
package memo

import "sync"

// A Cache keeps the results of one pure function by its argument: a name for
// the function, so that nobody sees whether it was called. It holds a bounded
// number of them and forgets all when it is full, since a peer chooses the
// arguments. It is safe for concurrent use; the zero Cache holds none, and the
// results must not be changed.
type Cache[V any] struct {
	Most int // results
	mu   sync.Mutex
	kept map[string]result[V]
}

type result[V any] struct {
	value V
	err   error
}

// Get returns what make returns for the key, its error too. Who asks at the same
// time may each have it made.
func (c *Cache[V]) Get(key string, make func() (V, error)) (V, error) {
	c.mu.Lock()
	r, known := c.kept[key]
	c.mu.Unlock()
	if known {
		return r.value, r.err
	}
	r.value, r.err = make()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.kept == nil || len(c.kept) >= c.Most {
		c.kept = map[string]result[V]{}
	}
	if c.Most > 0 {
		c.kept[key] = r
	}
	return r.value, r.err
}
