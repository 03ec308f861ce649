package script

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// The bridge stands where a client expects its server: it carries what the
// client writes to the scripted server, and the server's bytes back, unchanged.
// Towards the server it wraps the bytes in chunks, so that besides them it can
// tell that the client closed the input or sent a signal; a connection that
// ends without either tells that the bridge was killed. A chunk is one byte of
// kind, four of length, and the bytes.
const (
	chunkData   = 'd'
	chunkClosed = 'c'
	chunkSignal = 's' // the bytes name the signal
)

// maxChunk bounds the memory of one chunk.
const maxChunk = 64 << 10

// RunBridge carries in and out to the scripted server at the address, a unix
// socket. It returns when the server closed the connection, with the signal
// that ended it before, or nil.
func RunBridge(address string, in io.Reader, out io.Writer) (os.Signal, error) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, os.Interrupt, syscall.SIGHUP)
	defer signal.Stop(signals)
	// A client that reads no more must not end us by SIGPIPE: it closes the
	// input or signals, and that is to be told.
	signal.Ignore(syscall.SIGPIPE)
	conn, err := net.Dial("unix", address)
	if err != nil {
		return nil, fmt.Errorf("reach the scripted server: %w", err)
	}
	defer conn.Close()
	w := &chunkWriter{w: conn}
	go func() {
		if _, err := io.CopyBuffer(struct{ io.Writer }{w}, struct{ io.Reader }{in}, make([]byte, maxChunk)); err == nil {
			w.chunk(chunkClosed, nil)
		}
	}()
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = io.Copy(out, conn)
		_, _ = io.Copy(io.Discard, conn) // out is broken; the connection is not
	}()
	select {
	case <-done:
		return nil, nil
	case s := <-signals:
		w.chunk(chunkSignal, []byte(s.String()))
		return s, nil
	}
}

// A chunkWriter writes chunks; Write writes one of data.
type chunkWriter struct {
	mu sync.Mutex
	w  io.Writer
}

func (c *chunkWriter) Write(b []byte) (int, error) {
	if err := c.chunk(chunkData, b); err != nil {
		return 0, err
	}
	return len(b), nil
}

func (c *chunkWriter) chunk(kind byte, b []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	head := binary.BigEndian.AppendUint32([]byte{kind}, uint32(len(b)))
	_, err := c.w.Write(append(head, b...))
	return err
}

// A chunkReader reads the data of chunks.
type chunkReader struct {
	r      io.ReadCloser
	left   int // of the chunk under way
	what   string
	closed bool
}

func (c *chunkReader) Read(b []byte) (int, error) {
	for c.left == 0 {
		var head [5]byte
		if _, err := io.ReadFull(c.r, head[:]); err != nil {
			c.what = "the connection was cut before the input was closed"
			return 0, io.EOF
		}
		n := int(binary.BigEndian.Uint32(head[1:]))
		if n > maxChunk {
			return c.bad(fmt.Sprintf("a chunk of %d bytes", n))
		}
		switch head[0] {
		case chunkData:
			c.left = n
		case chunkClosed:
			c.what, c.closed = "the client closed the input", true
			return 0, io.EOF
		case chunkSignal:
			name := make([]byte, n)
			_, _ = io.ReadFull(c.r, name)
			c.what = fmt.Sprintf("signal %q came before the input was closed", name)
			return 0, io.EOF
		default:
			return c.bad(fmt.Sprintf("a chunk of kind %q", head[0]))
		}
	}
	n, err := c.r.Read(b[:min(len(b), c.left)])
	c.left -= n
	if err != nil {
		c.what = "the connection was cut before the input was closed"
		err = io.EOF
	}
	return n, err
}

// bad ends the connection to what is no bridge of ours.
func (c *chunkReader) bad(what string) (int, error) {
	c.what = "the bridge sent " + what
	return 0, io.EOF
}

func (c *chunkReader) Close() error { return c.r.Close() }

func (c *chunkReader) ended() (string, bool) { return c.what, c.closed }
