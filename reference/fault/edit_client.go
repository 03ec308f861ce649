package fault

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/reference/client"
)

// A clientApply builds a deviation into the options of the client.
type clientApply = func(o *client.Options)

// clientSends writes lines in place of each message of the method; "" means any
// method.
func clientSends(method string, lines func(m client.Message) [][]byte) clientApply {
	return func(o *client.Options) {
		o.Send = func(next client.Sender) client.Sender {
			return func(m client.Message) error {
				if method != "" && m.Method != method {
					return next(m)
				}
				for _, line := range lines(m) {
					m.Raw = line
					if err := next(m); err != nil {
						return err
					}
				}
				return nil
			}
		}
	}
}

// clientSendsBefore writes a line before each message of the method.
func clientSendsBefore(method, line string) clientApply {
	return clientSends(method, func(m client.Message) [][]byte { return [][]byte{[]byte(line), m.Raw} })
}

// clientRewrites replaces a text in the messages of the method; "" means any
// method. A message without the text stays as it is.
func clientRewrites(method, from, to string) clientApply {
	return clientSends(method, func(m client.Message) [][]byte {
		return [][]byte{bytes.Replace(m.Raw, []byte(from), []byte(to), 1)}
	})
}

// clientSendsInArray sends the messages of the method in an array.
func clientSendsInArray(method string) clientApply {
	return clientSends(method, func(m client.Message) [][]byte {
		return [][]byte{slices.Concat([]byte("["), m.Raw, []byte("]"))}
	})
}

// clientAnswers answers the server's requests of the method in place of the
// client; own is the answer of the client.
func clientAnswers(method string, with func(request wire.Message, own []byte) []byte) clientApply {
	return func(o *client.Options) {
		o.HandleRequest = func(next client.RequestHandler) client.RequestHandler {
			return func(m wire.Message) []byte {
				own := next(m)
				if m.Method() != method || own == nil {
					return own
				}
				return with(m, own)
			}
		}
	}
}

// responseWith answers with members of a response under the id of the request.
func responseWith(members string) func(request wire.Message, own []byte) []byte {
	return func(m wire.Message, _ []byte) []byte {
		return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,%s}`, m.ID().Raw, members)
	}
}

// clientSpeaking limits the revisions that the client speaks, for a deviation that
// other revisions take for another one, or for none.
func clientSpeaking(revisions spec.Set, apply clientApply) clientApply {
	return func(o *client.Options) {
		o.Revisions = revisions.Revisions()
		apply(o)
	}
}
