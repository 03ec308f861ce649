// Package memo caches the results of pure functions.
package memo

import "sync"

// A Cache holds results of one pure function, by its argument. It holds MaxResults
// results; when it is full it drops all of them, since a peer chooses the
// arguments. It is safe for concurrent use. The zero Cache holds nothing. The
// results are shared and must not be changed.
type Cache[V any] struct {
	MaxResults int
	mu         sync.Mutex
	results    map[string]result[V]
}

type result[V any] struct {
	value V
	err   error
}

// Get returns the result for the key, and calls compute if the cache does not
// hold it. It caches errors too. Concurrent calls with the same key may each
// call compute.
func (c *Cache[V]) Get(key string, compute func() (V, error)) (V, error) {
	c.mu.Lock()
	r, ok := c.results[key]
	c.mu.Unlock()
	if ok {
		return r.value, r.err
	}
	r.value, r.err = compute()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.results == nil || len(c.results) >= c.MaxResults {
		c.results = map[string]result[V]{}
	}
	if c.MaxResults > 0 {
		c.results[key] = r
	}
	return r.value, r.err
}
