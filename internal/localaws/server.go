package localaws

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// Server is an engine on a loopback port.
type Server struct {
	// URL is the endpoint for SDK clients and for the AWS command line.
	URL string

	engine *Engine
	http   *http.Server
	client *client
	served sync.WaitGroup
	failed error // of Serve; read after served
}

// Listen opens a port, for example "127.0.0.1:0". Addresses that are not
// loopback are refused: the engine knows no credentials, whoever reaches it may
// do anything.
func (e *Engine) Listen(address string) (*Server, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("reading the address: %w", err)
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return nil, fmt.Errorf("the local engine listens on loopback addresses only, not on %q", address)
	}
	var network net.ListenConfig
	listener, err := network.Listen(context.Background(), "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("opening the port: %w", err)
	}
	s := &Server{
		URL: "http://" + listener.Addr().String(), engine: e,
		client: &client{&http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}},
		http:   &http.Server{Handler: e, ReadHeaderTimeout: 10 * time.Second},
	}
	s.served.Go(func() {
		if err := s.http.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			s.failed = err
		}
	})
	return s, nil
}

// Config is an SDK configuration for the server, as Engine.Config is for calls
// in process.
func (s *Server) Config(app string) aws.Config {
	s.engine.Client(app) // so that the engine knows the application by its real name
	config := s.engine.config(app)
	config.BaseEndpoint = aws.String(s.URL)
	config.HTTPClient = s.client
	return config
}

// client is an HTTP client for a server as near as this one. The SDK closes a
// request's body as soon as it has the answer, and a closed body answers
// io.EOF from WriteTo, which net/http takes for a failed request: it tears down
// the connection while the answer is being read. A service across a network
// is never quick enough for that, a server in the same process is. So the body
// is sent without its WriteTo.
type client struct{ *http.Client }

func (c *client) Do(request *http.Request) (*http.Response, error) {
	if request.Body != nil {
		request.Body = struct{ io.ReadCloser }{request.Body}
	}
	response, err := c.Client.Do(request)
	if err != nil {
		return nil, fmt.Errorf("calling the local engine: %w", err)
	}
	return response, nil
}

// Close closes the port and all connections and waits for the server's own
// goroutine; the engine goes on. It returns what made the server stop earlier,
// if anything did.
func (s *Server) Close() error {
	s.client.CloseIdleConnections()
	err := s.http.Close()
	s.served.Wait()
	if err := errors.Join(s.failed, err); err != nil {
		return fmt.Errorf("closing the port: %w", err)
	}
	return nil
}
