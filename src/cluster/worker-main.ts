// A Ctrl-C reaches all processes of a terminal, and a service manager may signal all of a service: the primary process tells
// its workers when to stop. Before anything else is loaded, as the signal may come early.
const ignore = (): void => undefined;
process.on('SIGINT', ignore).on('SIGTERM', ignore);

const { ServingWorker } = await import('./serving-worker.js');
ServingWorker.run();
