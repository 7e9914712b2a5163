package telemetry

import (
	"encoding/json"
	"net/http"

	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Handler serves /metrics, /healthz (is the process of any use) and /readyz (does
// it do its work), and nothing else. The last two answer 503 for no, and JSON
// either way. now is called for each request, also concurrently.
func Handler(now func() Snapshot) (http.Handler, error) {
	registry, err := New(now)
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { answer(w, Alive(now())) })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) { answer(w, Ready(now())) })
	return mux, nil
}

func answer(w http.ResponseWriter, h Health) {
	w.Header().Set("Content-Type", "application/json")
	if !h.OK {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	_ = json.NewEncoder(w).Encode(h) // whoever asked may be gone
}
