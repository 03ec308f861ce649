package engine

import (
	"flag"
	"os"
	"testing"
)

// Most of these tests wait for what does not come, and so do it beside one another.
// The flag is set by its value: Ginkgo runs in no process that was given it.
func TestMain(m *testing.M) {
	if err := flag.Lookup("test.parallel").Value.Set("10"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}
