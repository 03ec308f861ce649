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

// This is the only file that sets rapid's settings. rapid is made for go test:
// its settings are flags of the process.

var (
	rapidReady sync.Once
	rapidBusy  sync.Mutex   // held while a plan is shrunk
	rapidFlags sync.RWMutex // held while flags are set; drawing reads them
)

// draw returns the plan of a seed, which is the first one that rapid draws under
// that seed. Shrinking starts from the same plan.
func (g *generator) draw(seed uint64) Plan {
	rapidFlags.RLock()
	defer rapidFlags.RUnlock()
	return g.plan.Example(int(seed))
}

// shrink has rapid minimize the plan of a seed for about as long as within says.
// It returns the smallest plan for which fails returned true; ok is false if
// fails returned false for the plan of the seed. It calls fails once for each
// distinct plan.
func (g *generator) shrink(seed uint64, within time.Duration, fails func(Plan) bool) (smallest Plan, ok bool) {
	rapidBusy.Lock()
	defer rapidBusy.Unlock()
	rapidReady.Do(func() {
		if !flag.Parsed() {
			testing.Init()
			_ = flag.CommandLine.Parse(nil) // cannot fail without arguments
		}
	})
	before := setRapidFlags(map[string]string{
		"checks": "1", "seed": strconv.FormatUint(seed, 10), "nofailfile": "true", "shrinktime": within.String(),
	})
	defer setRapidFlags(before)
	results := map[string]bool{}
	done := make(chan struct{})
	go func() { // FailNow, by which rapid ends a failed check, ends the goroutine
		defer close(done)
		rapid.Check(&discardTB{}, func(t *rapid.T) {
			p := g.plan.Draw(t, "plan")
			key := p.Key()
			failed, known := results[key]
			if !known {
				failed = fails(p)
				results[key] = failed
			}
			if failed {
				smallest, ok = p, true
				// rapid takes failures for one if their place and their
				// message are the same, so there is one of each.
				t.Fatalf("the plan fails")
			}
		})
	}()
	<-done
	return smallest, ok
}

// setRapidFlags sets flags of rapid and returns their former values.
func setRapidFlags(flags map[string]string) (before map[string]string) {
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

// discardTB is the testing.TB that rapid.Check requires. It discards what rapid
// logs, since the function under check keeps the smallest plan itself.
type discardTB struct{ failed bool }

func (*discardTB) Helper()                  {}
func (*discardTB) Name() string             { return "fuzz" }
func (*discardTB) Logf(string, ...any)      {}
func (*discardTB) Log(...any)               {}
func (*discardTB) Skipf(string, ...any)     { runtime.Goexit() }
func (*discardTB) Skip(...any)              { runtime.Goexit() }
func (*discardTB) SkipNow()                 { runtime.Goexit() }
func (tb *discardTB) Errorf(string, ...any) { tb.failed = true }
func (tb *discardTB) Error(...any)          { tb.failed = true }
func (tb *discardTB) Fatalf(string, ...any) { tb.FailNow() }
func (tb *discardTB) Fatal(...any)          { tb.FailNow() }
func (tb *discardTB) FailNow()              { tb.failed = true; runtime.Goexit() }
func (tb *discardTB) Fail()                 { tb.failed = true }
func (tb *discardTB) Failed() bool          { return tb.failed }
