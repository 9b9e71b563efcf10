// The same service in Go, as it is usually written: net/http, and one INSERT for each request, from a pool of pgx.
package main

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"log"
	"net/http"
	"os"

	"github.com/jackc/pgx/v4/pgxpool"
)

type newPlant struct {
	ID   *int64  `json:"id"`
	Name *string `json:"name"`
	Tag  *string `json:"tag"`
}

type plant struct {
	Name string  `json:"name"`
	Tag  *string `json:"tag,omitempty"`
}

// Each connection prepares it once.
const insert = "INSERT INTO plants (id, name, tag) VALUES ($1, $2, $3)"

func main() {
	config, err := pgxpool.ParseConfig(os.Getenv("DATABASE_URL"))
	if err != nil {
		log.Fatal(err)
	}
	config.MaxConns = 10
	pool, err := pgxpool.ConnectConfig(context.Background(), config)
	if err != nil {
		log.Fatal(err)
	}
	expected := []byte("Bearer " + os.Getenv("ACCESS_TOKENS"))

	http.HandleFunc("/plants", func(response http.ResponseWriter, request *http.Request) {
		if subtle.ConstantTimeCompare([]byte(request.Header.Get("Authorization")), expected) != 1 {
			http.Error(response, "Unauthorized", http.StatusUnauthorized)
			return
		}
		var body newPlant
		if json.NewDecoder(request.Body).Decode(&body) != nil || body.ID == nil || body.Name == nil {
			http.Error(response, "a plant has an integer id, a name, and perhaps a tag", http.StatusBadRequest)
			return
		}
		if _, err := pool.Exec(request.Context(), insert, *body.ID, *body.Name, body.Tag); err != nil {
			http.Error(response, err.Error(), http.StatusInternalServerError)
			return
		}
		text, err := json.Marshal(plant{*body.Name, body.Tag})
		if err != nil {
			log.Fatal(err)
		}
		response.Header().Set("Content-Type", "application/json")
		response.Write(text)
	})
	log.Fatal(http.ListenAndServe("127.0.0.1:"+os.Getenv("PORT"), nil))
}
