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

// The bridge is the program that a client starts as its server. It carries the bytes
// of the client to the scripted server, and those of the server back, unchanged. It
// wraps the bytes of the client in chunks: a byte of kind, four bytes of length, and
// the content. A chunk can also report that the client closed the input or sent a
// signal. A connection that ends without such a chunk means that the bridge was
// killed.
const (
	chunkData   = 'd'
	chunkClosed = 'c'
	chunkSignal = 's' // the content is the name of the signal
)

// maxChunk bounds the content of one chunk, in bytes.
const maxChunk = 64 << 10

// RunBridge connects in and out with the scripted server at a unix socket. It returns
// nil when the server closes the connection, or the signal that ended the bridge.
func RunBridge(address string, in io.Reader, out io.Writer) (os.Signal, error) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, os.Interrupt, syscall.SIGHUP)
	defer signal.Stop(signals)
	// A client that does not read must not end the bridge by SIGPIPE: the bridge must
	// still report how the client ends the server.
	signal.Ignore(syscall.SIGPIPE)
	conn, err := net.Dial("unix", address)
	if err != nil {
		return nil, fmt.Errorf("reach the scripted server: %w", err)
	}
	defer conn.Close()
	w := &chunkWriter{w: conn}
	go func() {
		if _, err := io.CopyBuffer(struct {
			io.Writer
		}{w}, struct{ io.Reader }{in}, make([]byte, maxChunk)); err == nil {
			w.chunk(chunkClosed, nil)
		}
	}()
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = io.Copy(out, conn)
		_, _ = io.Copy(io.Discard, conn) // out may be broken while the connection is not
	}()
	select {
	case <-done:
		return nil, nil
	case s := <-signals:
		w.chunk(chunkSignal, []byte(s.String()))
		return s, nil
	}
}

// A chunkWriter writes chunks. Write writes a chunk of data.
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
	r              io.ReadCloser
	remaining      int // bytes of the current chunk
	endReason      string
	closedByClient bool
}

func (c *chunkReader) Read(b []byte) (int, error) {
	for c.remaining == 0 {
		var head [5]byte
		if _, err := io.ReadFull(c.r, head[:]); err != nil {
			c.endReason = "the connection was cut before the input was closed"
			return 0, io.EOF
		}
		n := int(binary.BigEndian.Uint32(head[1:]))
		if n > maxChunk {
			return c.fail(fmt.Sprintf("a chunk of %d bytes", n))
		}
		switch head[0] {
		case chunkData:
			c.remaining = n
		case chunkClosed:
			c.endReason, c.closedByClient = "the client closed the input", true
			return 0, io.EOF
		case chunkSignal:
			name := make([]byte, n)
			_, _ = io.ReadFull(c.r, name)
			c.endReason = fmt.Sprintf("signal %q came before the input was closed", name)
			return 0, io.EOF
		default:
			return c.fail(fmt.Sprintf("a chunk of kind %q", head[0]))
		}
	}
	n, err := c.r.Read(b[:min(len(b), c.remaining)])
	c.remaining -= n
	if err != nil {
		c.endReason = "the connection was cut before the input was closed"
		err = io.EOF
	}
	return n, err
}

// fail ends the connection after an invalid chunk.
func (c *chunkReader) fail(chunk string) (int, error) {
	c.endReason = "the bridge sent " + chunk
	return 0, io.EOF
}

func (c *chunkReader) Close() error { return c.r.Close() }

func (c *chunkReader) ending() (string, bool) { return c.endReason, c.closedByClient }
