package script

import (
	"bytes"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// The bridge carries all bytes unchanged in both directions, for any sizes of the
// writes.
func TestBridgeCarriesBytesUnchanged(t *testing.T) {
	dir := t.TempDir()
	l, err := net.Listen("unix", filepath.Join(dir, "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	data := make([]byte, 3<<20)
	rnd := rand.New(rand.NewPCG(1, 2))
	for i := range data {
		data[i] = byte(rnd.Uint32())
	}
	got := make(chan []byte, 1)
	go func() {
		conn, err := l.Accept()
		if err != nil {
			got <- nil
			return
		}
		written := make(chan struct{})
		go func() {
			conn.Write(data)
			close(written)
		}()
		in := &chunkReader{r: conn}
		all, _ := io.ReadAll(in)
		if what, closed := in.ending(); !closed {
			t.Errorf("the bridge reports %q at the end of the input", what)
		}
		<-written
		conn.Close()
		got <- all
	}()
	c := exec.Command(os.Args[0], "peer-bridge", filepath.Join(dir, "s"))
	in, _ := c.StdinPipe()
	var out bytes.Buffer
	c.Stdout, c.Stderr = &out, os.Stderr
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	for rest := data; len(rest) > 0; {
		n := min(len(rest), 1+rnd.IntN(100_000))
		in.Write(rest[:n])
		rest = rest[n:]
	}
	in.Close()
	if !bytes.Equal(<-got, data) {
		t.Error("the server received other bytes than the client wrote")
	}
	if err := c.Wait(); err != nil || !bytes.Equal(out.Bytes(), data) {
		t.Errorf("the client received %d other bytes than the server wrote: %v", out.Len(), err)
	}
}
