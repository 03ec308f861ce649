package script

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpcheck/mcpcheck/internal/spec"
)

func TestSocketIsPrivateAndRemoved(t *testing.T) {
	s := newHarness(FullServer(spec.V2025_11_25), options())
	path, err := s.listenUnix()
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(filepath.Dir(path))
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the directory has mode %v, %v", info.Mode(), err)
	}
	s.close()
	if _, err := os.Stat(filepath.Dir(path)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the directory is still there: %v", err)
	}
}

func TestSocketPathIsNotTooLong(t *testing.T) {
	long := filepath.Join(t.TempDir(), strings.Repeat("long", 30))
	if err := os.Mkdir(long, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", long)
	s := newHarness(FullServer(spec.V2025_11_25), options())
	if _, err := s.listenUnix(); err != nil {
		t.Error(err)
	}
	s.close()
}
