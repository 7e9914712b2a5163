package localaws

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"time"
)

// tokens are the client request tokens of the last ten minutes, oldest first.
type tokens struct {
	known map[string]token
	order []string
}

type token struct {
	digest [sha256.Size]byte
	at     time.Time
}

// check reports whether the token has been used for the same transaction.
func (k *tokens) check(text string, digest [sha256.Size]byte, now time.Time) (repeated bool, err error) {
	for len(k.order) > 0 && now.Sub(k.known[k.order[0]].at) >= tokenLife {
		delete(k.known, k.order[0])
		k.order = k.order[1:]
	}
	known, ok := k.known[text]
	if text == "" || !ok {
		return false, nil
	}
	if known.digest != digest {
		return false, refuse("IdempotentParameterMismatchException", "The request uses the same client token as a previous, but non-identical request. Do not reuse a client token with different requests, unless the requests are identical")
	}
	return true, nil
}

func (k *tokens) remember(text string, digest [sha256.Size]byte, now time.Time) {
	if text == "" {
		return
	}
	if k.known == nil {
		k.known = map[string]token{}
	}
	k.known[text] = token{digest: digest, at: now}
	k.order = append(k.order, text)
}

// digest identifies what the transaction asks for: the same token with
// something else is a mistake. Reading and writing the parameters once more
// sorts the names in them, which come in any order.
func (o *transactWrite) digest() ([sha256.Size]byte, error) {
	if o.ClientRequestToken == "" {
		return [sha256.Size]byte{}, nil
	}
	encoded, err := json.Marshal(o.TransactItems)
	if err != nil {
		return [sha256.Size]byte{}, fmt.Errorf("encoding the transaction: %w", err)
	}
	var sorted any
	if err := json.Unmarshal(encoded, &sorted); err != nil {
		return [sha256.Size]byte{}, fmt.Errorf("reading the transaction: %w", err)
	}
	canonical, err := json.Marshal(sorted)
	if err != nil {
		return [sha256.Size]byte{}, fmt.Errorf("encoding the transaction: %w", err)
	}
	return sha256.Sum256(canonical), nil
}
