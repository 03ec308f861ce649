package session

import (
	"context"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// LearnBarrier finds out by which request the server shows that it still answers, before
// it is asked anything else: by the barrier of the revision, by the barrier with empty
// params, or by a list that it declares. Sessions of the pool ask that request, and send
// empty params in requests without params if the server serves none without: the params
// are optional (schema.ts#Request), so that a check reports it, and the other checks
// judge what else the server does. In the stateless era the opening is the barrier.
func (p *Pool) LearnBarrier(ctx context.Context) {
	p.mu.Lock()
	learned := p.learned
	p.learned = true
	p.mu.Unlock()
	if learned || p.Rev.Facts().Stateless {
		return
	}
	s, err := p.Shared(ctx)
	barrier := p.Rev.Facts().BarrierMethod
	if err != nil || s.succeeds(ctx, barrier, nil) {
		return
	}
	p.Forget(s)
	if s, err = p.Shared(ctx); err != nil {
		return
	}
	list := s.declaredList()
	switch {
	case s.succeeds(ctx, barrier, Params{}):
		p.requiresParams.Store(true)
		return
	case list == "":
		return
	}
	p.Forget(s)
	if s, err = p.Shared(ctx); err == nil && s.succeeds(ctx, list, nil) {
		p.alternative.Store(&list)
	}
}

// succeeds reports whether the peer answers a request with a result.
func (s *Session) succeeds(ctx context.Context, method string, params Params) bool {
	id := s.NextID()
	at, err := s.Send(ctx, wire.EncodeCall(id, method, s.AddRequestMeta(params)))
	if err != nil {
		return false
	}
	e, err := s.AwaitAnswer(ctx, at, id, s.AnswerTimeout())
	return err == nil && e.Message.Kind == wire.Result
}

// BarrierMethod returns the method of a request that the peer answers at any time.
func (s *Session) BarrierMethod() string { return s.livenessMethods()[0] }

// Facts returns the facts of the revision. The barrier is the one that the peer answers.
func (s *Session) Facts() spec.Facts {
	facts := s.Rev.Facts()
	facts.BarrierMethod = s.BarrierMethod()
	return facts
}
