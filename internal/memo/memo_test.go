package memo

import (
	"fmt"
	"sync"
	"testing"
)

func TestResultsAreKeptWithinBounds(t *testing.T) {
	c := Cache[int]{Most: 2}
	made := 0
	get := func(key string) int {
		n, err := c.Get(key, func() (int, error) { made++; return len(key), fmt.Errorf("%s failed", key) })
		if err == nil || err.Error() != key+" failed" {
			t.Errorf("%s: the error is %v", key, err)
		}
		return n
	}
	get("a")
	if get("a") != 1 || get("bb") != 2 || made != 2 {
		t.Errorf("%d results were made, want 2", made)
	}
	get("ccc")
	if len(c.kept) > 2 || get("ccc") != 3 || made != 3 {
		t.Errorf("%d are kept, %d were made", len(c.kept), made)
	}
	var none Cache[int]
	if n, err := none.Get("a", func() (int, error) { return 7, nil }); n != 7 || err != nil || len(none.kept) != 0 {
		t.Error("a cache for none kept one")
	}
}

func TestManyMayAskAtOnce(t *testing.T) {
	c := Cache[string]{Most: 4}
	var all sync.WaitGroup
	for i := range 32 {
		all.Go(func() {
			key := fmt.Sprint(i % 8)
			if got, err := c.Get(key, func() (string, error) { return "<" + key + ">", nil }); got != "<"+key+">" || err != nil {
				t.Errorf("%s gave %s, %v", key, got, err)
			}
		})
	}
	all.Wait()
}
