package server

import "testing"

// An answer to a request from before a change is not kept, whenever it comes.
func TestDropsRootsFromBeforeChange(t *testing.T) {
	s := newSession()
	wantKept := func(want any) {
		t.Helper()
		if got := s.knownRoots()["roots"]; got != want {
			t.Errorf("the session keeps the roots %v, want %v", got, want)
		}
	}
	if s.forgetRoots() {
		t.Error("the roots count as requested before the first request")
	}
	before := s.beginRootsRequest()
	s.keepRoots(Object{"roots": "first"}, before)
	wantKept("first")
	if !s.forgetRoots() {
		t.Error("the roots do not count as requested")
	}
	wantKept(nil)
	after := s.beginRootsRequest()
	s.keepRoots(Object{"roots": "old"}, before)
	wantKept(nil)
	s.keepRoots(Object{"roots": "new"}, after)
	s.keepRoots(Object{"roots": "old"}, before)
	wantKept("new")
	for range 2 {
		if !s.forgetRoots() {
			t.Error("a second change in a row does not require a request")
		}
	}
}
