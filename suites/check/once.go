package check

// Once returns what ask returned the first time that a check of this revision
// called Once with the key: what the server offers is asked for once, however
// many checks need to know. An ask that ends its body is not remembered. What
// it returns may be of a session that has ended since.
func Once[V any](t *T, key string, ask func() V) V {
	if v, ok := t.pool.Recall(key); ok {
		return v.(V)
	}
	v := ask()
	t.pool.Remember(key, v)
	return v
}
