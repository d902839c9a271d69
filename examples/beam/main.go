// Command beam packs a sort key of 64 bits for every row of Parquet files, on all
// cores of one machine or on a cluster. keys.go has the layout of a key.
//
//	beam -in '/data/events/*.parquet' -out /data/keys
//
// Without -in it packs a million rows that it makes itself. Apache Beam runs the
// pipeline, by default in this process. Beam's own flags choose another runner.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/runtime/metricsx"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/log"
	jobpb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/jobmanagement_v1"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/options/jobopts"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/runners"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/runners/prism"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/util/grpcx"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/x/beamx"
	"github.com/gobfi/bfi"
)

// The program prints its progress once in each progressInterval.
var progressInterval = time.Second

// A job has the values of the flags.
type job struct {
	in, out string
	rows    int64
	loop    bool
}

func main() {
	var j job
	flag.StringVar(&j.in, "in", "", "read the Parquet files that this `pattern` matches (default: make rows)")
	flag.StringVar(&j.out, "out", "",
		"write to this `directory`, which must be empty or not exist (default: a new temporary one)")
	flag.Int64Var(&j.rows, "rows", 1_000_000, "without -in, make this `many` rows")
	flag.BoolVar(&j.loop, "loop", false, "pack with a plain loop instead of bfi, to compare")
	flag.Parse()
	beam.Init() // on a worker, this never returns
	if err := start(context.Background(), j, flag.Args(), os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "beam:", err)
		os.Exit(1)
	}
}

// start checks the arguments, prepares the directory and the runner, runs the job
// and prints a summary.
func start(ctx context.Context, j job, args []string, stdout, stderr io.Writer) error {
	if len(args) > 0 {
		return fmt.Errorf("unexpected argument %q, want flags only", args[0])
	}
	if j.rows < 0 {
		return fmt.Errorf("-rows is %d, want at least 0", j.rows)
	}
	if err := prepare(ctx, &j.out); err != nil {
		return err
	}
	log.SetLogger(&log.Standard{Level: log.SevError})
	if r := *runners.Runner; (r == "" || r == "prism") && *jobopts.Endpoint == "" {
		if err := embed(ctx); err != nil {
			return err
		}
	}
	sum, err := j.run(ctx, stderr)
	if err != nil {
		removePartial(ctx, j.out)
		return err
	}
	_, err = fmt.Fprint(stdout, sum.text(j))
	return err
}

// prepare makes the directory that out names, and refuses one that holds something.
func prepare(ctx context.Context, out *string) (err error) {
	if *out == "" {
		*out, err = os.MkdirTemp("", "keys-")
		return err
	}
	fs, err := filesystem.New(ctx, *out)
	if err != nil {
		return err
	}
	defer fs.Close()
	if !strings.Contains(*out, "://") {
		if err := os.MkdirAll(*out, 0o777); err != nil {
			return err
		}
	}
	files, err := fs.List(ctx, strings.TrimSuffix(*out, "/")+"/*")
	if err == nil && len(files) > 0 {
		err = fmt.Errorf("-out %s holds %s, want an empty directory", *out, files[0])
	}
	return err
}

// removePartial removes the partial files of a failed job.
func removePartial(ctx context.Context, out string) {
	fs, err := filesystem.New(ctx, out)
	if err != nil {
		return
	}
	defer fs.Close()
	files, _ := fs.List(ctx, strings.TrimSuffix(out, "/")+"/*"+partial)
	for _, name := range files {
		if r, ok := fs.(filesystem.Remover); ok {
			r.Remove(ctx, name)
		}
	}
}

// embed starts Prism, Beam's runner for one machine, in this process. beam.Run would
// start it too, but would not tell its address, and watch needs the address.
func embed(ctx context.Context) error {
	slog.SetDefault(slog.New(slog.DiscardHandler)) // beam.Run returns Prism's errors too
	free, err := net.Listen("tcp", "localhost:0")
	if err != nil {
		return err
	}
	port := free.Addr().(*net.TCPAddr).Port
	free.Close()
	if _, err := prism.CreateJobServer(ctx, prism.Options{Port: port}); err != nil {
		return err
	}
	*jobopts.Endpoint = fmt.Sprintf("localhost:%d", port)
	*jobopts.EnvironmentType = "loopback"
	return nil
}

// A summary has Beam's counters for a whole job, and the time that the job took.
type summary struct {
	counts  map[string]int64
	elapsed time.Duration
}

func (j job) run(ctx context.Context, stderr io.Writer) (*summary, error) {
	if *jobopts.JobName == "" {
		*jobopts.JobName = fmt.Sprintf("keys-%d", time.Now().UnixNano())
		defer func() { *jobopts.JobName = "" }()
	}
	watched, stop := context.WithCancel(ctx)
	stopped := make(chan struct{})
	go func() {
		watch(watched, stderr)
		close(stopped)
	}()
	began := time.Now()
	result, err := beamx.RunWithMetrics(ctx, j.pipeline())
	s := &summary{map[string]int64{}, time.Since(began)}
	stop()
	<-stopped
	if err != nil {
		return nil, plain(err)
	}
	for _, c := range result.Metrics().AllMetrics().Counters() {
		if c.Key.Namespace == namespace {
			s.counts[c.Key.Name] += c.Result()
		}
	}
	return s, nil
}

// plain returns an error of this program without the text that Beam puts around it.
func plain(err error) error {
	if _, text, ok := strings.Cut(err.Error(), mark); ok {
		text, _, _ = strings.Cut(text, mark)
		return errors.New(text)
	}
	return err
}

// text returns the lines to print about a job: rows, bytes, the rate, and the time of
// each step.
func (s *summary) text(j job) string {
	with := "bfi, kernel " + bfi.Kernel()
	if j.loop {
		with = "a plain loop"
	}
	milliseconds := func(name string) float64 { return float64(s.counts[name]) / 1e6 }
	megabytes := func(name string) float64 { return float64(s.counts[name]) / 1e6 }
	seconds := s.elapsed.Seconds()
	text := fmt.Sprintf("%d rows, %.1f MB read, %.1f MB written to %s\n",
		s.counts["rows"], megabytes("bytes-read"), megabytes("bytes-written"), j.out)
	text += fmt.Sprintf("%.2f s on %d cores: %.2f million rows/s\n",
		seconds, runtime.GOMAXPROCS(0), float64(s.counts["rows"])/1e6/seconds)
	return text + fmt.Sprintf("time of all row groups: read %.0f ms, check %.1f ms, pack %.1f ms (%s), write %.0f ms\n",
		milliseconds("ns-read"), milliseconds("ns-check"), milliseconds("ns-pack"), with, milliseconds("ns-write"))
}

// watch prints the number of rows so far until ctx ends. It asks the runner's job
// server for Beam's counters. Dataflow has none; its page shows them.
func watch(ctx context.Context, stderr io.Writer) {
	if *jobopts.Endpoint == "" {
		return
	}
	connection, err := grpcx.Dial(ctx, *jobopts.Endpoint, time.Minute)
	if err != nil {
		return // beam.Run cannot connect either, and says why
	}
	defer connection.Close()
	client := jobpb.NewJobServiceClient(connection)
	ticker := time.NewTicker(progressInterval)
	defer ticker.Stop()
	// Prism's count includes the rows of one unfinished bundle at a time, so it may fall.
	most := int64(0)
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			if n, err := rowsSoFar(ctx, client); err == nil {
				most = max(most, n)
				fmt.Fprintf(stderr, "%d rows\n", most)
			}
		}
	}
}

// rowsSoFar returns the number of rows that the job with this program's job name has
// counted.
func rowsSoFar(ctx context.Context, client jobpb.JobServiceClient) (n int64, err error) {
	jobs, err := client.GetJobs(ctx, &jobpb.GetJobsRequest{})
	if err != nil {
		return 0, err
	}
	for _, info := range jobs.GetJobInfo() {
		if info.GetJobName() != *jobopts.JobName {
			continue
		}
		response, err := client.GetJobMetrics(ctx, &jobpb.GetJobMetricsRequest{JobId: info.GetJobId()})
		if err != nil {
			return 0, err
		}
		results := metricsx.FromMonitoringInfos(nil, userCounters(response.GetMetrics().GetAttempted()),
			userCounters(response.GetMetrics().GetCommitted()))
		for _, c := range results.AllMetrics().Counters() {
			if c.Key.Namespace == namespace && c.Key.Name == "rows" {
				n += max(c.Attempted, c.Committed)
			}
		}
	}
	return n, nil
}
