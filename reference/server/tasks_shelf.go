package server

import (
	"math"
	"slices"
	"sync"
)

// taskShelf holds the tasks of a connection in the order in which they were
// made. Places of expired ones stay empty, so that cursors stay good; those of the
// extension are in no list, and leave none.
type taskStore struct {
	mu          sync.Mutex
	listed      []*task
	listedCount int // how many places are not empty
	extended    []*task
}

func (s *taskStore) add(t *task) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.removeExpired()
	if s.listedCount+len(s.extended) >= maxTasks || !t.extended && len(s.listed) >= math.MaxUint16 {
		return false
	}
	if t.extended {
		s.extended = append(s.extended, t)
		return true
	}
	s.listed = append(s.listed, t)
	s.listedCount++
	return true
}

// purge forgets tasks whose time is over.
func (s *taskStore) removeExpired() {
	for i, t := range s.listed {
		if t != nil && t.isExpired() {
			s.listed[i] = nil
			s.listedCount--
		}
	}
	s.extended = slices.DeleteFunc(s.extended, (*task).isExpired)
}

// list returns the tasks that are listed, with nil for those that are gone.
func (s *taskStore) list() []*task {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.removeExpired()
	return slices.Clone(s.listed)
}

func (s *taskStore) find(id string) *task {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.removeExpired()
	named := func(t *task) bool { return t != nil && t.id == id }
	if i := slices.IndexFunc(s.extended, named); i >= 0 {
		return s.extended[i]
	}
	if i := slices.IndexFunc(s.listed, named); i >= 0 {
		return s.listed[i]
	}
	return nil
}
