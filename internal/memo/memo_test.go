package memo

import (
	"fmt"
	"sync"
	"testing"
)

func TestCacheIsBounded(t *testing.T) {
	c := Cache[int]{MaxResults: 2}
	calls := 0
	get := func(key string) int {
		n, err := c.Get(key, func() (int, error) { calls++; return len(key), fmt.Errorf("%s failed", key) })
		if err == nil || err.Error() != key+" failed" {
			t.Errorf("%s: the error is %v", key, err)
		}
		return n
	}
	get("a")
	if get("a") != 1 || get("bb") != 2 || calls != 2 {
		t.Errorf("%d calls, want 2", calls)
	}
	get("ccc")
	if len(c.results) > 2 || get("ccc") != 3 || calls != 3 {
		t.Errorf("%d results after %d calls", len(c.results), calls)
	}
}

func TestZeroCacheHoldsNothing(t *testing.T) {
	var c Cache[int]
	if n, err := c.Get("a", func() (int, error) { return 7, nil }); n != 7 || err != nil || len(c.results) != 0 {
		t.Errorf("%d, %v, %d results", n, err, len(c.results))
	}
}

func TestConcurrentUse(t *testing.T) {
	c := Cache[string]{MaxResults: 4}
	var all sync.WaitGroup
	for i := range 32 {
		all.Go(func() {
			key := fmt.Sprint(i % 8)
			got, err := c.Get(key, func() (string, error) { return "<" + key + ">", nil })
			if got != "<"+key+">" || err != nil {
				t.Errorf("%s: got %s, %v", key, got, err)
			}
		})
	}
	all.Wait()
}
