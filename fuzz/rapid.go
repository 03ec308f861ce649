package fuzz

import (
	"flag"
	"fmt"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// This is the only file that touches rapid's settings, which are flags of the
// process: rapid is made for go test and has no other way to be told.

var (
	rapidReady sync.Once
	rapidBusy  sync.Mutex   // held while plans are shrunk
	rapidFlags sync.RWMutex // held while flags are set; drawing reads them too
)

// draw returns the plan of a seed. Shrinking starts from the same plan: the
// first one that rapid draws under that seed.
func (g *generator) draw(seed uint64) Plan {
	rapidFlags.RLock()
	defer rapidFlags.RUnlock()
	return g.plan.Example(int(seed))
}

// shrink has rapid minimise the plan of a seed while fails holds for it, for
// about so long, and returns the smallest plan for which it held. It asks
// fails once for each distinct plan; ok is false if fails did not hold for the
// plan of the seed itself.
func (g *generator) shrink(seed uint64, within time.Duration, fails func(Plan) bool) (smallest Plan, ok bool) {
	rapidBusy.Lock()
	defer rapidBusy.Unlock()
	rapidReady.Do(func() {
		if !flag.Parsed() {
			testing.Init()
			// Without arguments nothing can go wrong.
			_ = flag.CommandLine.Parse(nil)
		}
	})
	before := setRapid(map[string]string{"checks": "1", "seed": strconv.FormatUint(seed, 10), "nofailfile": "true", "shrinktime": within.String()})
	defer setRapid(before)
	known := map[string]bool{}
	tb := &discardTB{}
	done := make(chan struct{})
	go func() { // rapid ends a failed check by FailNow, which ends the goroutine
		defer close(done)
		rapid.Check(tb, func(t *rapid.T) {
			p := g.plan.Draw(t, "plan")
			key := p.Key()
			failed, asked := known[key]
			if !asked {
				failed = fails(p)
				known[key] = failed
			}
			if failed {
				smallest, ok = p, true
				// The one place to fail from, with the same words each
				// time: rapid tells failures apart by both.
				t.Fatalf("the oracle objects")
			}
		})
	}()
	<-done
	return smallest, ok
}

// setRapid sets flags of rapid and returns what they were.
func setRapid(flags map[string]string) (before map[string]string) {
	rapidFlags.Lock()
	defer rapidFlags.Unlock()
	before = map[string]string{}
	for name, v := range flags {
		f := flag.Lookup("rapid." + name)
		if f == nil {
			panic("fuzz: rapid has no flag " + name)
		}
		before[name] = f.Value.String()
		if err := f.Value.Set(v); err != nil {
			panic(fmt.Sprintf("fuzz: rapid's flag %s: %v", name, err))
		}
	}
	return before
}

// sink is the testing.TB that rapid wants; what it is told is kept nowhere,
// since the closure of the check has seen it all.
type discardTB struct{ failed bool }

func (*discardTB) Helper()                 {}
func (*discardTB) Name() string            { return "fuzz" }
func (*discardTB) Logf(string, ...any)     {}
func (*discardTB) Log(...any)              {}
func (*discardTB) Skipf(string, ...any)    { runtime.Goexit() }
func (*discardTB) Skip(...any)             { runtime.Goexit() }
func (*discardTB) SkipNow()                { runtime.Goexit() }
func (s *discardTB) Errorf(string, ...any) { s.failed = true }
func (s *discardTB) Error(...any)          { s.failed = true }
func (s *discardTB) Fatalf(string, ...any) { s.FailNow() }
func (s *discardTB) Fatal(...any)          { s.FailNow() }
func (s *discardTB) FailNow()              { s.failed = true; runtime.Goexit() }
func (s *discardTB) Fail()                 { s.failed = true }
func (s *discardTB) Failed() bool          { return s.failed }
